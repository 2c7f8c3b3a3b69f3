import { useCalled } from "../link/use.ts";
import { Select } from "../parts/Fields.tsx";
import { goQuery } from "../router.ts";

/** One of the agents that one may see, or any: in the address. */
export function AgentSelect({ agent, any = "Any" }: Readonly<{ agent: string; any?: string }>) {
  const agents = useCalled("agents", { query: { limit: 500 } });
  return (
    <Select
      label="Agent"
      value={agent}
      choose={(value) => goQuery({ agent: value })}
      choices={[{ value: "", text: any }, ...(agents.value?.items ?? []).map(({ name }) => ({ value: name, text: name }))]}
    />
  );
}
