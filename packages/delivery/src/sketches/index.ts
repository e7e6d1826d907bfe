/** Min-wise sketches: how much of a peer's set is new, before it is asked. */

export { DeliveryError, type DeliveryErrorCode } from '../delivery-error.ts';
export {
  commonFromResemblance,
  containmentVariance,
  sketchedContainmentVariance,
} from '../math/containment.ts';
export { MinWiseSketch } from './min-wise-sketch.ts';
