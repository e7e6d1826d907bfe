export { type Cancel, type Clock, systemClock } from './clock.ts';
export { FleetKeyring } from './fleet-keyring.ts';
export { type FleetKeys, fleetKeys } from './fleet-keys.ts';
export { type RendezvousKey, rendezvousOrder } from './membership/rendezvous.ts';
export {
  isGroupName,
  MAX_MESSAGE_BYTES,
  type Peer,
  type PeerIdentity,
  type PeerState,
  type RequestOptions,
  type Service,
  type Subscription,
  type Transport,
} from './transport.ts';
export { TransportError, type TransportErrorCode } from './transport-error.ts';
