// The coders of bit arrays.

export {
  rangeEncode, rangeDecode, ransModel, ransEncode, ransDecode, golombEncode, golombDecode, countOnes,
} from '../coders/entropy';
