export type { DropReason } from './forward-packet.ts';
export type { LinkOptions } from './link-model.ts';
export type { LinkQueue, Parcel } from './queued-link.ts';
export {
  type GroupForwarding,
  type Port,
  type PortOptions,
  Router,
  type RouterCounts,
  type RouterOptions,
  type Shim,
} from './router.ts';
export { machineClock, type RouterClock } from './router-clock.ts';
export { TunDevice, type TunOptions } from './tun-device.ts';
export { TunError, type TunErrorCode } from './tun-error.ts';
export { type Neighbour, UdpPorts } from './udp-ports.ts';
