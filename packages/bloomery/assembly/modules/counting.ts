// The loops of the counting filter.

export {
  countingHas, countingCount, countingAdd, countingDelete, countingHasOne, countingCountOne, countingAddOne,
  countingDeleteOne,
} from '../counters/counting';
