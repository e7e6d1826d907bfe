export type { NodeClock, Skew } from './engine/node-clock.ts';
export type { RandomStream } from './engine/random-stream.ts';
export {
  type EventKind,
  type RunEnd,
  type RunOptions,
  Simulation,
  type SimulationOptions,
} from './engine/simulation.ts';
export { SimulationError, type SimulationErrorCode } from './simulation-error.ts';
