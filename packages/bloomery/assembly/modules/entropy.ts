// The coders of bit arrays.

export { rangeEncode, rangeDecode } from '../coders/range-coder';
export { ransModel, ransEncode, ransDecode } from '../coders/rans';
export { golombEncode, golombDecode } from '../coders/golomb';
export { countOnes } from '../coders/count-ones';
