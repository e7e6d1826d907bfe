/**
 * The parts that every adapter of the port is built from: state of neighbours, subscriptions,
 * services, requests under way, pauses between attempts. @bloomery/sim builds its network from
 * them, so that a simulated node counts, retries and refuses as one on HTTP does.
 */

export { checkMessageSize, checkTopic } from '../transport.ts';
export { Backoff } from './backoff.ts';
export { LinkSubscriptions } from './link-subscriptions.ts';
export { type PeerChange, PeerList } from './peer-list.ts';
export { PendingRequests, requestError, type Settle } from './pending-request.ts';
export { type Served, Services } from './services.ts';
