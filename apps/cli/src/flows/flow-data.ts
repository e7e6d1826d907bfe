/** Reports of flows for programs: JSON, and the text format of Prometheus. */

import type { Bounds, FlowFields, FlowReport } from '@bloomery/packets/flows';
import { flowColumns } from './flow-columns.ts';

/** The report as plain data. A bound that is not known is null. */
export function reportData(report: FlowReport, undecoded: Readonly<Record<string, number>>) {
  const { top, ...facts } = report;
  return {
    ...facts,
    undecoded,
    top: top.map(({ flow, bytes, packets }) => ({
      ...flow,
      bytes: finite(bytes),
      packets: finite(packets),
    })),
  };
}

export function finite({ atLeast, atMost }: Bounds): { atLeast: number; atMost: number | null } {
  return { atLeast, atMost: Number.isFinite(atMost) ? atMost : null };
}

/** The report as metrics. Values of flows are upper bounds; a gauge says whether they are exact. */
export function prometheusText(
  report: FlowReport,
  fields: FlowFields,
  undecoded: Readonly<Record<string, number>>,
): string {
  const columns = flowColumns(fields);
  const lines: string[] = [];
  const metric = (
    name: string,
    help: string,
    samples: readonly (readonly [labels: string, value: number])[],
  ) => {
    if (samples.length === 0) return;
    lines.push(`# HELP bloomery_${name} ${help}`, `# TYPE bloomery_${name} gauge`);
    for (const [labels, value] of samples) lines.push(`bloomery_${name}${labels} ${value}`);
  };
  const labelled = (pick: (one: FlowReport['top'][number]) => number) =>
    report.top
      .map((one) => [one, pick(one)] as const)
      .filter(([, value]) => Number.isFinite(value))
      .map(([{ flow }, value]) => {
        const labels = columns.map(({ name, value: text }) => `${name}="${text(flow)}"`);
        return [`{${labels.join(',')}}`, value] as const;
      });
  metric(
    'flow_bytes',
    'Bytes of the largest flows, upper bound.',
    labelled(({ bytes }) => bytes.atMost),
  );
  metric(
    'flow_bytes_at_least',
    'Bytes of the largest flows, lower bound.',
    labelled(({ bytes }) => bytes.atLeast),
  );
  metric(
    'flow_packets',
    'Packets of the largest flows, upper bound.',
    labelled(({ packets }) => packets.atMost),
  );
  metric(
    'flow_packets_at_least',
    'Packets of the largest flows, lower bound.',
    labelled(({ packets }) => packets.atLeast),
  );
  metric('flows_exact', '1 if all flows were counted exactly.', [['', report.exact ? 1 : 0]]);
  metric('flows_sampled_records', 'Records of exporters that look at one packet of many.', [
    ['', report.sampledRecords],
  ]);
  metric('flows_complete_from', 'Flows of at least this size are all known.', [['', report.completeFrom]]);
  metric('flows_bytes', 'Bytes of all flows.', [['', report.bytes]]);
  metric('flows_packets', 'Packets of all flows.', [['', report.packets]]);
  const reasons = Object.entries(undecoded).map(
    ([reason, count]) => [`{reason="${reason}"}`, count] as const,
  );
  metric('flows_undecoded', 'Packets, records or datagrams without a flow, by reason.', reasons);
  return lines.join('\n');
}
