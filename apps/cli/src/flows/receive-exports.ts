/**
 * NetFlow 5 and 9, IPFIX and sFlow from a UDP socket, into a meter. Records count in the interval
 * in which they come, as nfcapd does it: exporters send a flow when it ends, or every few minutes.
 */

import { CaptureError, ExportDecoder, FlowRecords } from '@bloomery/packets/capture';
import { listenExports } from '@bloomery/packets/capture/node';
import { systemClock } from '@bloomery/transport';
import { formatCount } from '../terminal/format-values.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import type { FlowSource } from './flow-source.ts';

/** Listens at `HOST:PORT`, `:PORT` or `PORT`. */
export function exportSource(address: string): FlowSource {
  const { host, port } = addressOf(address);
  const decoder = new ExportDecoder();
  let [dropped, impossible] = [0, 0];
  const undecoded = () => {
    const { refused, notIp, otherSamples } = decoder.counts;
    const waiting = decoder.waiting.reduce((sum, { sets }) => sum + sets, 0);
    return { refused, notIp, otherSamples, waiting, impossible, dropped };
  };
  return {
    bytes: 0,
    undecoded,
    notes: () => notesOf(decoder, undecoded()),
    async read(meter, _, signal) {
      const seconds = () => systemClock.now() / 1000;
      const timer = setInterval(() => meter.passTime(seconds()), 1000);
      const records = new FlowRecords();
      const onListening = (bound: number) => warn(`waiting for flow exports on ${host}:${bound}`);
      try {
        for await (const datagram of listenExports({ address: host, port, signal, onListening })) {
          dropped = datagram.dropped;
          try {
            decoder.decode(datagram.bytes, datagram.exporter, records);
          } catch (error) {
            if (error instanceof CaptureError) continue;
            throw error;
          }
          impossible += meter.addRecords(records, seconds());
        }
      } finally {
        clearInterval(timer);
      }
    },
  };
}

function notesOf(decoder: ExportDecoder, missing: Record<string, number>): string {
  const { datagrams, records } = decoder.counts;
  const lines = [`${formatCount(records)} records in ${formatCount(datagrams)} datagrams`];
  const reasons: [string, string][] = [
    ['refused', 'datagrams that are no export'],
    ['notIp', 'records without IP addresses'],
    ['impossible', 'records with impossible amounts'],
    ['dropped', 'datagrams dropped, because they came too fast'],
  ];
  for (const [reason, text] of reasons) {
    if (missing[reason] > 0) lines.push(`not counted: ${formatCount(missing[reason])} ${text}`);
  }
  for (const { exporter, domain, template, sets } of decoder.waiting) {
    lines.push(
      `waiting for template ${template} of ${exporter}, domain ${domain}: ${formatCount(sets)} sets passed over`,
    );
  }
  return lines.join('\n');
}

function addressOf(text: string): { host: string; port: number } {
  const match = /^(?:(\[[0-9a-f:.]+\]|[0-9a-z.-]*):)?(\d{1,5})$/i.exec(text.trim());
  const port = match === null ? Number.NaN : Number(match[2]);
  if (!(port <= 65_535)) {
    throw new UsageError(`--netflow expects an address such as :2055 or 127.0.0.1:2055, got ${text}`);
  }
  return { host: match?.[1]?.replace(/^\[|\]$/g, '') || '0.0.0.0', port };
}
