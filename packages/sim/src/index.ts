export type { NodeClock, Skew } from './engine/node-clock.ts';
export { type RandomStream, randomStream } from './engine/random-stream.ts';
export {
  type RunEnd,
  type RunOptions,
  Simulation,
  type SimulationOptions,
} from './engine/simulation.ts';
export {
  type ExploreOptions,
  explore,
  type Failure,
  failureText,
  replay,
  shrink,
} from './explorer/explore.ts';
export type { Fault, FaultKind } from './explorer/fault.ts';
export { type Scenario, World } from './explorer/world.ts';
export type { LinkConditions } from './network/link-conditions.ts';
export { type HostContext, type HostProgram, SimHost } from './network/sim-host.ts';
export { SimNetwork, type SimNetworkOptions, type SimNodeOptions } from './network/sim-network.ts';
export { SimTransport } from './network/sim-transport.ts';
export { SimulationError, type SimulationErrorCode } from './simulation-error.ts';
