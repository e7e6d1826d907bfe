/**
 * The numbers that the papers print, digit by digit, errors included.
 *
 * compressed: M. Mitzenmacher, Compressed Bloom Filters, IEEE/ACM Transactions on Networking 10(5),
 * 2002. survey: A. Broder, M. Mitzenmacher, Network Applications of Bloom Filters: A Survey, 2004.
 * perl: M. Ceglowski, Using Bloom Filters, perl.com, April 2004. tutorial: M. Ripeanu, A.
 * Iamnitchi, Bloom Filters: Short Tutorial.
 */

export interface PrintedColumn {
  readonly bitsPerKey: number;
  readonly hashes: number;
  /** f and z/n as printed. */
  readonly rate: string;
  readonly sent: string;
}

export interface PrintedTable {
  readonly name: string;
  readonly caption: string;
  /** Fraction of the elements replaced, in the tables of deltas. */
  readonly replaced: number;
  readonly columns: readonly PrintedColumn[];
}

export const COMPRESSED_TABLES: readonly PrintedTable[] = [
  {
    name: 'I',
    caption: 'at most 8 bits per element',
    replaced: 0,
    columns: [
      column(8, 6, '0.0216', '8'),
      column(14, 2, '0.0177', '7.923'),
      column(92, 1, '0.0108', '7.923'),
    ],
  },
  {
    name: 'II',
    caption: 'at most 16 bits per element; the survey prints it again as table 1',
    replaced: 0,
    columns: [
      column(16, 11, '0.000459', '16'),
      column(28, 4, '0.000314', '15.846'),
      column(48, 3, '0.000222', '15.829'),
    ],
  },
  {
    name: 'III',
    caption: 'at most 4 bits per element',
    replaced: 0,
    columns: [column(4, 3, '0.147', '4'), column(7, 1, '0.133', '3.962')],
  },
  {
    name: 'IV',
    caption: 'a rate around 0.02',
    replaced: 0,
    columns: [
      column(8, 6, '0.0216', '8'),
      column(12.6, 2, '0.0216', '7.582'),
      column(46, 1, '0.0215', '6.891'),
    ],
  },
  {
    name: 'V',
    caption: 'a rate around 0.00045',
    replaced: 0,
    columns: [
      column(16, 11, '0.000459', '16'),
      column(37.5, 3, '0.000454', '14.666'),
      column(93, 2, '0.000453', '13.815'),
    ],
  },
  {
    name: 'VI',
    caption: 'deltas, 5 % of the elements replaced',
    replaced: 0.05,
    columns: [
      column(8, 5, '0.0217', '1.6713'),
      column(12, 3, '0.0108', '1.6607'),
      column(32, 2, '0.00367', '1.6532'),
      column(13, 2, '0.0203', '1.3124'),
    ],
  },
  {
    name: 'VII',
    caption: 'deltas, 1 % of the elements replaced',
    replaced: 0.01,
    columns: [
      column(8, 5, '0.0217', '0.4624'),
      column(16, 3, '0.0050', '0.4856'),
      column(48, 2, '0.00167', '0.4500'),
      column(13, 2, '0.0203', '0.3430'),
    ],
  },
];

export interface PrintedSimulation {
  readonly bits: number;
  readonly hashes: number;
  readonly replaced: number;
  /** Bytes, as printed; null where the paper prints nothing. */
  readonly predicted: string | null;
  readonly mean: string | null;
  readonly deviation: string | null;
  readonly most: string;
  readonly budget: number | null;
}

/**
 * Compressed III-A and IV: n = 10,000, 100,000 trials each, an adaptive arithmetic coder,
 * "including all overhead".
 */
export const SIMULATIONS: readonly PrintedSimulation[] = [
  simulation(140_000, 2, 0, '9904', '9920', '11.375', '9971', 10_000),
  simulation(480_000, 3, 0, '19787', '19805', '14.386', '19865', 20_000),
  simulation(70_000, 1, 0, null, null, null, '4998', 5000),
  simulation(126_000, 2, 0, null, '9493', null, '9539', null),
  simulation(320_000, 2, 0.05, '2066.5', '2090', null, '2129', null),
];

export interface PrintedPerlRow {
  readonly rate: number;
  readonly keys: number;
  readonly size: string;
  readonly bytesPerKey: string;
}

/** Perl, table 1. K and M of keys are thousands and millions. */
export const PERL_TABLE: readonly PrintedPerlRow[] = [
  { rate: 0.01, keys: 1e3, size: '1.87 K', bytesPerKey: '1.9' },
  { rate: 0.001, keys: 1e3, size: '2.80 K', bytesPerKey: '2.9' },
  { rate: 0.0001, keys: 1e3, size: '3.74 K', bytesPerKey: '3.7' },
  { rate: 0.0001, keys: 1e4, size: '37.4 K', bytesPerKey: '3.7' },
  { rate: 0.0001, keys: 1e5, size: '374 K', bytesPerKey: '3.7' },
  { rate: 0.0001, keys: 1e6, size: '3.74 M', bytesPerKey: '3.7' },
  { rate: 0.00001, keys: 1e6, size: '4.68 M', bytesPerKey: '4.7' },
  { rate: 0.000001, keys: 1e6, size: '5.61 M', bytesPerKey: '5.7' },
];

function column(bitsPerKey: number, hashes: number, rate: string, sent: string): PrintedColumn {
  return { bitsPerKey, hashes, rate, sent };
}

function simulation(
  bits: number,
  hashes: number,
  replaced: number,
  predicted: string | null,
  mean: string | null,
  deviation: string | null,
  most: string,
  budget: number | null,
): PrintedSimulation {
  return { bits, hashes, replaced, predicted, mean, deviation, most, budget };
}
