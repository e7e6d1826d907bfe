/**
 * Errors of the estimate in little memory against exact counts, on one capture: `accuracy.ts FILE
 * MEMORY…`. It checks every flow of the capture: none may be above its upper bound or below its
 * lower one, and none of the threshold or more may be missing.
 */

import { readFileSync } from 'node:fs';
import { CaptureDecoder, HeaderBatch, HeaderDecoder, PacketBatch } from '@bloomery/packets/capture';
import { type FlowKey, FlowMeter } from '@bloomery/packets/flows';

const [path, ...memories] = process.argv.slice(2);
const secret = new Uint8Array(16).fill(3);
const exact = new FlowMeter({ secret, memory: 2 ** 31, exact: true });
const estimates = memories.map((memory) => new FlowMeter({ secret, memory: Number(memory) }));

const [batch, headers] = [new PacketBatch(4096), new HeaderBatch(4096)];
const [decoder, header] = [new CaptureDecoder(), new HeaderDecoder()];
decoder.push(readFileSync(path));
while (decoder.next(batch)) {
  header.decode(batch, headers);
  for (const meter of [exact, ...estimates]) meter.add(batch, headers);
}

const all = { top: Number.POSITIVE_INFINITY };
const name = (flow: FlowKey) => Object.values(flow).join(' ');
const truth = exact.report(all);
const trueBytes = new Map(truth.top.map(({ flow, bytes }) => [name(flow), bytes.atMost]));

const rows = estimates.map((meter, i) => {
  const report = meter.report(all);
  const listed = new Map(report.top.map(({ flow, bytes }) => [name(flow), bytes]));
  let [wrong, missing] = [0, 0];
  for (const [flow, bytes] of trueBytes) {
    const bounds = listed.get(flow);
    if (bounds === undefined) missing += bytes >= report.completeFrom ? 1 : 0;
    else if (!(bounds.atLeast <= bytes && bytes <= bounds.atMost)) wrong++;
  }
  const errors = truth.top.slice(0, 100).map(({ flow, bytes }) => {
    const bounds = listed.get(name(flow));
    return bounds === undefined ? Number.NaN : (bounds.atMost - bytes.atMost) / bytes.atMost;
  });
  return {
    memory: Number(memories[i]),
    exact: report.exact,
    threshold: report.completeFrom / truth.bytes,
    entries: report.flows,
    wrong,
    missing,
    meanError: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    maxError: Math.max(...errors),
  };
});
console.log(JSON.stringify({ flows: truth.flows, packets: truth.packets, rows }));
