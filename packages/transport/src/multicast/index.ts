export { type MulticastGroup, parseMulticastGroup } from './multicast-group.ts';
export { MULTICAST_LIMITS, type MulticastLimits } from './multicast-limits.ts';
export {
  type MulticastSocket,
  type MulticastSocketOptions,
  type OpenMulticastSocket,
  openMulticastSocket,
} from './multicast-socket.ts';
export type { MulticastEvent, MulticastStatus } from './multicast-status.ts';
export { MulticastTransport } from './multicast-transport.ts';
export type { MulticastTransportOptions } from './multicast-transport-options.ts';
