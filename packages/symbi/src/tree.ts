/** The tree of a `.symbi` file. `at` is the offset of a node's first character: comparing trees leaves it out. */
type Node<Kind extends string, Fields = object> = Readonly<{ kind: Kind; at: number } & Fields>;

export type Name = Node<"name", { text: string }>;

export type File = Node<"file", { items: readonly TreeItem[] }>;
export type TreeItem = Metadata | AgentBlock | PolicyBlock | TypeDeclaration | FunctionBlock | KeyBlock;

/** `open` is the offset of its brace. */
export type Metadata = Node<"metadata", { open: number; entries: readonly EntryOrSection[] }>;
export type KeyBlock = ScheduleBlock | WebhookBlock | MemoryBlock | ChannelBlock;
export type ScheduleBlock = Node<"schedule", { name: Name; open: number; entries: readonly EntryOrSection[] }>;
export type WebhookBlock = Node<"webhook", { name: Name; open: number; entries: readonly EntryOrSection[] }>;
export type MemoryBlock = Node<"memory", { name: Name; open: number; entries: readonly EntryOrSection[] }>;
export type ChannelBlock = Node<"channel", { name: Name; open: number; entries: readonly (EntryOrSection | PolicyBlock)[] }>;
export type TreeEntry = Node<"entry", { key: Name; value: Expression }>;
export type Section = Node<"section", { key: Name; open: number; entries: readonly EntryOrSection[] }>;
export type EntryOrSection = TreeEntry | Section;

export type AgentBlock = Node<
  "agent",
  { name: Name; params: readonly Param[]; returns: TypeNode | null; open: number; members: readonly TreeMember[] }
>;
export type TreeMember = Capabilities | PolicyBlock | FunctionBlock | WithBlock;
export type Capabilities = Node<"capabilities", { value: Expression }>;
export type WithBlock = Node<"with", { settings: readonly TreeEntry[]; body: Block }>;
export type Param = Node<"param", { name: Name; type: TypeNode }>;

export type PolicyBlock = Node<"policy", { name: Name | null; open: number; rules: readonly Rule[] }>;
export type RuleEffect = "allow" | "deny" | "require" | "audit";
export type Rule = Node<"rule", { effect: RuleEffect; subject: Expression; condition: Expression | null }>;

export type TypeDeclaration = Node<"type", { name: Name; type: TypeNode }>;
export type TypeNode = NamedType | Struct;
export type NamedType = Node<"named-type", { name: Name; args: readonly TypeNode[] }>;
export type Struct = Node<"struct", { fields: readonly Field[] }>;
export type Field = Node<"field", { name: Name; optional: boolean; type: TypeNode }>;

export type FunctionBlock = Node<"function", { name: Name; params: readonly Param[]; returns: TypeNode | null; body: Block }>;

export type Block = Node<"block", { open: number; statements: readonly Statement[] }>;
export type Statement =
  | Node<"let", { name: Name; mutable: boolean; type: TypeNode | null; value: Expression }>
  | If
  | IfLet
  | Node<"for", { name: Name; of: Expression; body: Block }>
  | Node<"while", { condition: Expression; body: Block }>
  | Node<"match", { subject: Expression; open: number; arms: readonly Arm[] }>
  | Node<"try", { body: Block; catches: readonly Catch[] }>
  | Node<"return", { value: Expression | null }>
  | Node<"jump", { word: "break" | "continue" }>
  | Node<"expression", { value: Expression }>
  /** The value of its block: an expression without a semicolon, which stands last. */
  | Node<"tail", { value: Expression }>
  | Assign;
export type Assign = Node<"assign", { target: Expression; op: string; value: Expression }>;
export type If = Node<"if", { condition: Expression; body: Block; otherwise: If | IfLet | Block | null }>;
export type IfLet = Node<"if-let", { pattern: TreePattern; value: Expression; body: Block; otherwise: If | IfLet | Block | null }>;
export type Arm = Node<"arm", { pattern: TreePattern; body: Block | Expression | Assign }>;
/** `(error)` or `(Type error)`. */
export type Catch = Node<"catch", { names: readonly Name[]; handler: Block }>;
/** A literal, a name, `_`, or `Some(x)`. */
export type TreePattern = Expression | Variant;
export type Variant = Node<"variant", { name: Name; args: readonly TreePattern[] }>;

export type Expression =
  | Node<"ident", { name: string }>
  | Node<"string", { value: string; long: boolean }>
  | Node<"number", { text: string }>
  | Node<"duration", { amount: string; unit: string }>
  | Node<"constant", { value: boolean | null }>
  | Node<"vault", { path: string }>
  | Node<"array", { items: readonly Expression[] }>
  | Node<"record", { fields: readonly RecordField[] }>
  | Node<"group", { inner: Expression }>
  | Node<"unary", { op: string; of: Expression }>
  | Node<"binary", { op: string; opAt: number; left: Expression; right: Expression }>
  /** `stepAt` is the offset of the sign that begins the step. */
  | Node<"member", { of: Expression; name: Name; stepAt: number }>
  | Node<"call", { of: Expression; args: readonly Argument[]; stepAt: number }>
  | Node<"index", { of: Expression; index: Expression; stepAt: number }>
  | Node<"propagate", { of: Expression; stepAt: number }>
  /** `Name { field: value }`. */
  | Node<"instance", { type: Name; stepAt: number; fields: readonly RecordField[] }>
  | Node<"choice", { condition: Expression; then: Expression | Block; otherwise: Expression | Block }>
  | Node<"lambda", { params: readonly Name[]; body: Block | Expression }>;
export type Argument = Expression | NamedArgument;
export type NamedArgument = Node<"named-argument", { name: Name; value: Expression }>;
export type RecordField = Node<"record-field", { key: Name; value: Expression }>;

export type AnyNode =
  | File
  | TreeItem
  | EntryOrSection
  | TreeMember
  | Param
  | Rule
  | TypeNode
  | Field
  | Block
  | Statement
  | Arm
  | Catch
  | Variant
  | Expression
  | NamedArgument
  | RecordField
  | Name;
