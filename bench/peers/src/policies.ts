/** W7: the same policies in each dialect. Three can decide a look-up, the others are about other tools and other people. */
/** How a policy names the tool, its arguments, and those on whose behalf it is called. */
export type Dialect = Readonly<{ action: string; args: string; person: string }>;

export function policiesText(count: number, { action, args, person }: Dialect): string {
  const own = [
    `permit (principal, action == ${action}, resource) when { ${args}.path like "docs/*" };`,
    `forbid (principal, action == ${action}, resource) when { ${args}.path like "docs/secret*" };`,
    `forbid (principal, action == ${action}, resource) when { ${args}.n > 1000000 };`,
  ];
  const others = Array.from({ length: Math.max(0, count - own.length) }, (_, i) =>
    i % 2 === 0
      ? `permit (principal == ${person}::"p${i}", action, resource);`
      : `forbid (principal == ${person}::"p${i}", action == ${action}, resource) when { ${args}.path like "private/${i}/*" };`,
  );
  return [...own, ...others].slice(0, count).join("\n");
}
