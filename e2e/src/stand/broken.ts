/** Loaded before a victim of a deliberately broken build, which its orders name. */
import { breakBuild } from "../breaks.ts";
import { orders } from "./outlet.ts";

if (orders.broken !== null) breakBuild(orders.broken);
