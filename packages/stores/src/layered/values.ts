/** How values become bytes in the log, and in bases that hold bytes. */

export interface Values<V> {
  encode(value: V): Uint8Array;
  decode(bytes: Uint8Array): V;
}

/** Values are bytes. */
export const bytesValues: Values<Uint8Array> = {
  encode(value) {
    if (value instanceof Uint8Array) return value;
    throw new TypeError(`Cannot write a value: expected a Uint8Array, got ${typeof value}`);
  },
  decode: (bytes) => bytes,
};

/** Values are strings, as UTF-8. */
export const textValues: Values<string> = {
  encode(value) {
    if (typeof value === 'string') return Buffer.from(value);
    throw new TypeError(`Cannot write a value: expected a string, got ${typeof value}`);
  },
  decode: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(),
};

/** Values are whatever JSON can express. */
export function jsonValues<V>(): Values<V> {
  return {
    encode(value) {
      const text = JSON.stringify(value);
      if (text === undefined)
        throw new TypeError(`Cannot write a value: expected one that JSON can express, got ${typeof value}`);
      return Buffer.from(text);
    },
    decode: (bytes) => JSON.parse(textValues.decode(bytes)) as V,
  };
}
