// Newlines in blocks of text.

export { countNewlines, findNewlines } from '../batches/lines';
