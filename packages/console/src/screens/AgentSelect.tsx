import { useQuery } from "../link/use.ts";
import { Select } from "../parts/forms/Fields.tsx";
import { setQuery } from "../routing/router.ts";

/** Chooses one of the visible agents, or any; part of the address. */
export function AgentSelect({ agent, any = "Any" }: Readonly<{ agent: string; any?: string }>) {
  const agents = useQuery("agents", { query: { limit: 500 } });
  return (
    <Select
      label="Agent"
      value={agent}
      choose={(value) => setQuery({ agent: value })}
      choices={[{ value: "", text: any }, ...(agents.value?.items ?? []).map(({ name }) => ({ value: name, text: name }))]}
    />
  );
}
