/**
 * Sends parts through a stream of Node's zlib, and yields what comes out, each in its own memory.
 */

export async function* throughStream(
  parts: AsyncIterable<Uint8Array>,
  stream: NodeJS.ReadWriteStream,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const destroy = (error?: Error) => (stream as unknown as { destroy(error?: Error): void }).destroy(error);
  let isOver = false;
  const feeding = (async () => {
    for await (const part of parts) {
      if (isOver) return;
      if (!stream.write(part)) await drained(stream);
    }
    stream.end();
  })();
  feeding.catch((error) => destroy(error as Error));
  try {
    for await (const part of stream as AsyncIterable<Uint8Array>) yield Uint8Array.from(part);
    await feeding;
  } finally {
    // A caller that stops early must not leave the feeder waiting for a drain that never comes.
    isOver = true;
    destroy();
  }
}

/** Waits until a stream takes more input, or is closed. */
function drained(stream: NodeJS.ReadWriteStream): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      stream.removeListener('drain', wake);
      stream.removeListener('close', wake);
      resolve();
    };
    stream.once('drain', wake);
    stream.once('close', wake);
  });
}
