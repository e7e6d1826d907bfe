/**
 * `npm run packets:figures`: the pictures of docs/guide/packets.md. A terminal with the answer of
 * the command for a synthetic capture, and a plot of the error of the largest flows by memory, in
 * three orders of packets.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Series, svgFile } from '@bloomery/papers/drawing';
import { CAPTURE_ORDERS, writeZipfCapture } from '../../packages/testkit/src/captures/zipf-capture.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bloomery-figures-'));
const MEMORIES = [1.25, 1.5, 2, 3, 4];

try {
  writeFileSync(at('../../docs/guide/figures/flows.svg'), terminal());
  writeFileSync(at('../../docs/guide/figures/flows-error.svg'), errorPlot());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function run(args: readonly string[], cwd = folder): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(`Cannot run ${args.join(' ')}: ${stderr}`);
  return String(stdout);
}

function terminal(): string {
  writeZipfCapture({
    path: join(folder, 'office.pcap'),
    packets: 200_000,
    flows: 40_000,
    order: 'mixed',
    seed: 5,
    ipv6: true,
  });
  const command = at('../../apps/cli/bin/bloomery.js');
  const shown = (...args: string[]) => [
    `$ bloomery flows ${args.join(' ')}`,
    ...run([command, 'flows', ...args])
      .trimEnd()
      .split('\n'),
  ];
  return screenSvg([...shown('office.pcap'), '', ...shown('office.pcap', '--memory', '1.5MB', '--top', '5')]);
}

/** Lines of a terminal as SVG, dark on light and light on dark. */
function screenSvg(lines: readonly string[]): string {
  const [line, column] = [17, 7.3];
  const width = Math.ceil(Math.max(...lines.map(({ length }) => length)) * column) + 32;
  const height = lines.length * line + 28;
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const texts = lines.map(
    (text, i) =>
      `  <text x="16" y="${(i + 1) * line + 8}"${text.startsWith('$') ? ' class="typed"' : ''} xml:space="preserve">${escaped(text)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="bloomery flows in a terminal: the largest flows of a capture with bytes, bounds, share, packets and addresses">
  <style>
    .page { fill: #f6f8fa; stroke: #d0d7de } text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #24292f; white-space: pre } .typed { font-weight: 700 }
    @media (prefers-color-scheme: dark) { .page { fill: #0d1117; stroke: #30363d } text { fill: #e6edf3 } }
  </style>
  <rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
${texts.join('\n')}
</svg>
`;
}

interface Accuracy {
  readonly flows: number;
  readonly rows: readonly { readonly memory: number; readonly meanError: number }[];
}

function errorPlot(): string {
  let flows = 0;
  const series = CAPTURE_ORDERS.map((order, i): Series => {
    const path = join(folder, `${order}.pcap`);
    writeZipfCapture({ path, packets: 300_000, flows: 60_000, order, seed: 2 });
    const memories = MEMORIES.map((megabytes) => String(megabytes * 1e6));
    const found: Accuracy = JSON.parse(
      run([...process.execArgv, at('./accuracy.ts'), path, ...memories], at('.')),
    );
    rmSync(path);
    flows = found.flows;
    return {
      name: order,
      kind: 'line',
      colour: i as Series['colour'],
      points: found.rows.map(({ memory, meanError }) => [memory / 1e6, 100 * meanError] as const),
    };
  });
  const most = Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y)));
  const top = Math.max(0.02, Math.ceil(most * 50) / 50);
  return svgFile({
    title: `Mean over-count of the 100 largest flows: 300,000 packets, ${flows.toLocaleString('en-US')} flows`,
    x: { label: 'memory, MB', scale: 'linear', from: 1, to: 4.2, ticks: [1, 2, 3, 4] },
    y: {
      label: 'over-count, %',
      scale: 'linear',
      from: 0,
      to: top,
      ticks: [0, top / 4, top / 2, (3 * top) / 4, top],
      format: (y) => y.toFixed(3),
    },
    series,
  });
}
