/** A piece of a file, bit by bit: 2,048 bits from any place. Only that slice is read. */

import { useEffect, useState } from 'preact/hooks';
import { countText } from '../page/number-text.ts';
import { BitPicture, CellText } from './bit-picture.tsx';

const PIECE = 256;
const COLUMNS = 64;

export function FileWindow({ file }: { file: File }) {
  const last = Math.max(0, Math.ceil(file.size / PIECE) - 1);
  const [piece, setPiece] = useState(0);
  const [cells, setCells] = useState<Uint8Array>(() => new Uint8Array(0));
  useEffect(() => {
    let isCurrent = true;
    const from = piece * PIECE;
    file
      .slice(from, Math.min(file.size, from + PIECE))
      .arrayBuffer()
      .then(
        (buffer) => isCurrent && setCells(bitsOf(new Uint8Array(buffer))),
        () => isCurrent && setCells(new Uint8Array(0)),
      );
    return () => {
      isCurrent = false;
    };
  }, [file, piece]);
  const ones = cells.reduce((sum, bit) => sum + bit, 0);
  return (
    <>
      <h3>A piece of it</h3>
      <label class="piece">
        Piece {countText(piece + 1)} of {countText(last + 1)}
        <input
          type="range"
          min={0}
          max={last}
          value={piece}
          onInput={(event) => setPiece(Number(event.currentTarget.value))}
        />
      </label>
      <BitPicture
        cells={cells}
        most={1}
        columns={COLUMNS}
        text={`${countText(cells.length)} bits from byte ${countText(piece * PIECE)} on, ${countText(ones)} of them set. The lowest bit of each byte comes first.`}
      />
      <CellText cells={cells} columns={COLUMNS} />
    </>
  );
}

function bitsOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from({ length: 8 * bytes.length }, (_, i) => (bytes[i >> 3] >> (i & 7)) & 1);
}
