/**
 * Decides whether the owner of a lock is still alive. The first of these rules that can tell
 * decides:
 *
 * 1. **Its process**, if it runs on this boot of this machine and in this PID namespace. It is gone
 *    if its number is free, a zombie, or another process that began at another time; it lives if
 *    the beginning is the same. A stopped process (SIGSTOP) lives.
 * 2. **Its socket**, on this boot of this machine, in any container. The owner listens on a socket
 *    with a name beside the lock. The kernel closes it however the process ends, and answers for a
 *    process that hangs. The name is the same in all containers that share the folder, where
 *    process numbers are not. Rule 2 also decides about a lock of this very process, whose owner
 *    may be a thread that has ended.
 * 3. **Its signs of life**, if it gives them: an owner that did not write its lock again for 30 s
 *    is gone. That is for another machine on a network file system, and for containers on a file
 *    system without sockets.
 * 4. **Its host**, if it gives no signs. A lock from an earlier boot of the same host and namespace
 *    is gone. Any other is respected until the user removes it, because a wrong guess would lose an
 *    update.
 *
 * We do not rely on a process number alone (wrong after the number is reused, and in another
 * container), nor on the age of a lock alone (wrong for an owner that waits for a slow pipe).
 *
 * macOS and the BSDs do not tell when a process began, so rule 1 cannot see that a number was
 * reused, and a socket with a full queue refuses connections as a closed one does. There an owner
 * that gives no signs, whose event loop may be blocked, counts as alive as long as its number
 * exists. Windows has no sockets in folders, so there every owner counts as alive as long as its
 * number exists.
 */

import { hostname } from 'node:os';
import { isOwnNamespace, type LockRecord } from './lock-owner.ts';
import { isAnswered } from './lock-socket.ts';
import { bootId, processState } from './process-identity.ts';

/**
 * `unseen` means that only silence can tell (rule 3), `damaged` that the lock does not name its
 * holder.
 */
export type Liveness = 'alive' | 'gone' | 'unseen' | 'damaged';

export async function livenessOf({ owner }: LockRecord, folder: string): Promise<Liveness> {
  if (owner === 'damaged') return 'damaged';
  if (owner === 'foreign') return 'alive';
  const { pid, began, boot, host, socket, signs } = owner;
  const visible = isOwnNamespace(owner);
  const isShort = boot === '';
  if (isShort ? host === hostname() : boot === bootId()) {
    const state = visible ? processState(pid, began) : 'unseen';
    if (state === 'gone') return 'gone';
    if (state === 'same' && pid !== process.pid) return 'alive';
    const answered = socket === '' ? undefined : await isAnswered(folder, socket);
    if (answered === true) return 'alive';
    if (answered === false && (state !== 'unclear' || signs)) return 'gone';
    if (visible) return 'alive';
  } else if (!signs && !isShort && visible && host === hostname()) {
    return 'gone';
  }
  return signs ? 'unseen' : 'alive';
}
