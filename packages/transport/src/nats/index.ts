export { loadNatsClient } from './load-client.ts';
export { NATS_LIMITS, type NatsLimits } from './nats-limits.ts';
export type { LoadedNatsClient, NatsServerOptions } from './nats-server-options.ts';
export type { NatsEvent, NatsStatus } from './nats-status.ts';
export { NatsTransport } from './nats-transport.ts';
export type { NatsTransportOptions } from './nats-transport-options.ts';
export { type NatsUrl, parseNatsUrl } from './nats-url.ts';
export { isFleetName } from './subjects.ts';
