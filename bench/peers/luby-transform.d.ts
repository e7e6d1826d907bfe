/** The parts of luby-transform 0.2.0 that are used here, for a machine without it. */

interface EncodedBlock {
  readonly indices: number[];
  readonly data: Uint8Array;
}

export declare function createEncoder(
  data: Uint8Array,
  blockBytes: number,
): { fountain(): Generator<EncodedBlock> };

export declare function createDecoder(): {
  addBlock(block: EncodedBlock): boolean;
  getDecoded(): Uint8Array | undefined;
};
