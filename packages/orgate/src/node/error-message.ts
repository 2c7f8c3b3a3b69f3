export { errorMessage } from "@orgate/core/vocab";
