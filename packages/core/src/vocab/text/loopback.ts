/** Whether the host of an address is this machine. By literal name only: what another name resolves to may change. */
export const isLoopback = (host: string): boolean => host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
