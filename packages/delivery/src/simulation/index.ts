/** Simulations of deliveries, deterministic by seed. */

export {
  STRATEGIES,
  type Strategy,
  simulateTransfer,
  type TransferResult,
  type TransferSettings,
} from './partial-transfer.ts';
export { type SwarmResult, type SwarmSettings, simulateSwarm } from './swarm.ts';
