/** The fields of a flow as columns: their names, and their values as text. */

import {
  type FieldName,
  type FlowFields,
  type FlowKey,
  namesOfFields,
  protocolName,
} from '@bloomery/packets/flows';

export interface FlowColumn {
  readonly name: FieldName;
  readonly title: string;
  value(flow: FlowKey): string;
}

const COLUMNS: Readonly<Record<FieldName, Omit<FlowColumn, 'name'>>> = {
  src: { title: 'source', value: ({ source }) => source ?? '' },
  sport: { title: 'port', value: ({ sourcePort }) => String(sourcePort) },
  dst: { title: 'destination', value: ({ destination }) => destination ?? '' },
  dport: { title: 'port', value: ({ destinationPort }) => String(destinationPort) },
  proto: { title: 'protocol', value: ({ protocol }) => protocolName(protocol ?? 0) },
};

export function flowColumns(fields: FlowFields): FlowColumn[] {
  return namesOfFields(fields).map((name) => ({ name, ...COLUMNS[name] }));
}
