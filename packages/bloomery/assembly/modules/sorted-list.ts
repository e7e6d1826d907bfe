// Lookups in a sorted list of packed positions.

export { listHas } from '../lists/sorted-list';
