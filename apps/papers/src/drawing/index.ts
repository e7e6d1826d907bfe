/** Plots and tables as text, for the reports of the papers and for the command. */

export { fittedPlot } from './fitted-plot.ts';
export type { Plot, Point, Series } from './plot.ts';
export { svgFile } from './svg-plot.ts';
export { terminalPlot } from './terminal-plot.ts';
export { formatPairs, formatTable } from './text-table.ts';
