/**
 * The name of a node that has no `--name`: `bloomery-` and eight random digits. A node with a disk
 * keeps it in the folder, which only one node uses at a time, and has it again at its next start.
 *
 * A request whose Via contains a node's own name has gone in a circle (RFC 9110, 7.6.3), so two
 * nodes in a chain must not share a name. We refused a name made from host and port: two containers
 * often have the same host name and port, and the port is known only after the node listens. Among
 * 1,000 nodes, two random names are equal with probability 1.2e-4. Origins see the name, so it
 * tells nothing about the machine.
 *
 * Where it breaks down: a folder that is copied to another machine carries its name along.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '@bloomery/files';

const FILE = 'node-name';

export function randomName(): string {
  return `bloomery-${randomBytes(4).toString('hex')}`;
}

/** The name that the folder holds, or a new one that it holds from now on if it can. */
export function keptName(folder: string): string {
  const path = join(folder, FILE);
  try {
    const text = readFileSync(path, 'utf8').trim();
    if (/^bloomery-[0-9a-f]{8}$/.test(text)) return text;
  } catch {
    // There is none yet, or it cannot be read. In both cases a new one is written.
  }
  const name = randomName();
  try {
    writeAtomically(path, Buffer.from(`${name}\n`), { mode: 0o600 });
  } catch {
    // A full disk must not keep a node from starting. The next start chooses another name.
  }
  return name;
}
