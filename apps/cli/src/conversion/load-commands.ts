/**
 * The commands that load a filter into a server with RedisBloom, in Redis's own protocol, so that
 * `redis-cli --pipe` takes them as they are. Text for the prompt of redis-cli would need escapes,
 * which make a binary chunk up to four times as long.
 */

import type { RedisBloomFilter } from 'bloomery/formats/redisbloom';

export function loadCommands(filter: RedisBloomFilter, key: string): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const { iterator, data } of filter.toChunks()) {
    const words = ['BF.LOADCHUNK', key, String(iterator), data];
    parts.push(Buffer.from(`*${words.length}\r\n`));
    for (const word of words) {
      const bytes = typeof word === 'string' ? Buffer.from(word) : word;
      parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
    }
  }
  return new Uint8Array(Buffer.concat(parts));
}
