/** The parts of @peerbit/riblt 1.2.0 that are used here, for a machine without it. */

declare class SymbolSet {
  add_symbol(symbol: bigint): void;
  free(): void;
}

export declare class EncoderWrapper extends SymbolSet {
  produce_next_coded_symbol(): unknown;
}

export declare class DecoderWrapper extends SymbolSet {
  add_coded_symbol(symbol: unknown): void;
  try_decode(): void;
  decoded(): boolean;
  get_local_symbols(): readonly unknown[];
  get_remote_symbols(): readonly unknown[];
}

export declare const ready: Promise<unknown>;
