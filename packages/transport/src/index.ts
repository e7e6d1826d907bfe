export { type Cancel, type Clock, systemClock } from './clock.ts';
export {
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
