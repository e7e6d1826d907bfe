/** Plots and tables as text, for the reports of the papers and for the command. */

export { formatPairs, formatTable } from './text-table.ts';
