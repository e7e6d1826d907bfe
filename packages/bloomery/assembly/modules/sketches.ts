// The loops of the Count-Min sketch and of the spectral Bloom filter.

export {
  sketchCount, sketchSum, sketchRaise, sketchSubtract, recurringCount, recurringSum, recurringSubtract,
} from '../counters/sketches';
