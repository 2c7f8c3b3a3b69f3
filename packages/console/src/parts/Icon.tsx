/** Drawn here, one stroke wide: no icon font, no sprite to load. Decorative: text beside it says what it means. */
const PATHS = {
  chat: "M4 5h12v8H9l-4 3v-3H4z",
  approvals: "M10 3l6 2v5c0 3.5-2.5 6-6 7-3.5-1-6-3.5-6-7V5zM7.5 10l2 2 3.5-4",
  sessions: "M4 5h4M4 10h8M4 15h6M14 5h2M15 10h1M13 15h3",
  fleet: "M10 3v3M4 8h12v8H4zM7.5 11.5v1M12.5 11.5v1",
  schedules: "M4 5h12v11H4zM4 8.5h12M7 3v3M13 3v3M10 10.5v2l1.5 1",
  policies: "M5 3h7l3 3v11H5zM12 3v3h3M7.5 10h5M7.5 13h5",
  journal: "M5 3h10v14H5zM5 6.5H3.5M5 10H3.5M5 13.5H3.5M8 7h4M8 10h4",
  cost: "M4 16V9M8 16V5M12 16v-5M16 16V7",
  health: "M3 10h3l2-5 3 10 2-5h4",
  guide: "M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM8.2 8a1.9 1.9 0 1 1 2.6 1.8c-.6.3-.8.7-.8 1.4M10 13.6v.2",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  filter: "M3.500 5h13M6 10h8M8.500 15h3",
  search: "M9 4a5 5 0 1 1 0 10A5 5 0 0 1 9 4zM13 13l3.5 3.5",
  attach: "M13.500 6.500l-6 6a1.800 1.800 0 0 0 2.500 2.500l6-6a3.500 3.500 0 0 0-5-5l-6 6a5.200 5.200 0 0 0 7.400 7.400l4.600-4.600",
  send: "M4 10h11M11 5.5L15.5 10 11 14.5",
  stop: "M6 6h8v8H6z",
  close: "M5 5l10 10M15 5L5 15",
  check: "M4.5 10.5l3.5 3.5 7.5-8",
  deny: "M10 3.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM5.5 5.5l9 9",
  edit: "M4 16l.8-3.2L13 4.6l2.4 2.4-8.2 8.2z",
  wait: "M10 3.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM10 6.5V10l2.5 2",
  warning: "M10 3.5l7 12.5H3zM10 8.5v3.5M10 14v.2",
  link: "M8 12l4-4M9 6l1.5-1.5a3 3 0 0 1 4.2 4.2L13 10.5M11 14l-1.5 1.5a3 3 0 0 1-4.2-4.2L7 9.5",
  open: "M7 4l6 6-6 6",
  down: "M4.5 7.5L10 13l5.5-5.5",
  plus: "M10 4v12M4 10h12",
  light:
    "M10 6.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM10 2.5v1.5M10 16v1.5M2.5 10H4M16 10h1.5M4.7 4.7l1 1M14.3 14.3l1 1M15.3 4.7l-1 1M5.7 14.3l-1 1",
  dark: "M15.5 12A6.5 6.5 0 0 1 8 4.5a6.5 6.5 0 1 0 7.5 7.5z",
  system: "M3.5 5h13v8.5h-13zM8 16.5h4M10 13.5v3",
  person: "M10 4a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM4.5 16.5c.6-3 2.6-4.5 5.5-4.5s4.9 1.5 5.5 4.5",
  thinking:
    "M10 3.5c3.6 0 6.5 2.3 6.5 5.2S13.6 14 10 14c-.7 0-1.4-.1-2-.3L4.5 16l.8-3.3C4.2 11.700 3.500 10.300 3.500 8.700 3.500 5.800 6.400 3.500 10 3.500zM7.500 8.700h.01M10 8.700h.01M12.500 8.700h.01",
  undo: "M4 9h8a4 4 0 0 1 0 8H8M7 5.500L3.500 9 7 12.500",
  copy: "M7 7h9v9H7zM4 13V4h9",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: Readonly<{ name: IconName; size?: number }>) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
