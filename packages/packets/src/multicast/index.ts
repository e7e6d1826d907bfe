export { GroupTable, type GroupTableOptions } from './group-table.ts';
