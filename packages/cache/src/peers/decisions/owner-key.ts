/**
 * The choice of the secret under which a question to an owner carries the hash of its key.
 *
 * The owner of a key follows from that hash, and its memory knows keys by that hash alone. So nodes
 * that want one object meet at one owner only if they choose the same secret. While the operator
 * changes the secret, some nodes have two of them, in either order, and others have one. The rule
 * is the smallest id that this node and all its live neighbours accept, because that does not
 * depend on the order. Nodes one step apart have at least one in common, so all of them agree.
 *
 * For a moment after a change, the views of two nodes may differ. Then an object may be fetched
 * twice. We refused to send the hashes under both secrets: their owners are different nodes.
 */

/** `own` is not empty. A neighbour with an empty list has no secrets, and accepts every id. */
export function ownerKey(own: readonly number[], neighbours: Iterable<readonly number[]>): number {
  let common = own;
  for (const accepted of neighbours)
    if (accepted.length > 0) common = common.filter((id) => accepted.includes(id));
  return common.length === 0 ? own[0]! : Math.min(...common);
}
