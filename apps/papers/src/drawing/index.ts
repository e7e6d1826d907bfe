/** Plots and tables as text, for the reports of the papers and for the command. */

export { fittedPlot } from './fitted-plot.ts';
export type { Point, Series } from './plot.ts';
export { terminalPlot } from './terminal-plot.ts';
export { formatPairs, formatTable } from './text-table.ts';
