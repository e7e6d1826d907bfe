// Probes of a bit-sliced table.

export { slicedAdd, slicedNarrow, slicedWide } from '../bits/sliced';
