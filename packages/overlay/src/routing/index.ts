export { chooseHop, type Hop, type Query } from './decisions/choose-hop.ts';
export { nodesByLevel, planRoutes, type RoutePlan, type RoutePlanOptions } from './decisions/route-plan.ts';
export { type Lead, RouteTable, type RouteTableOptions } from './decisions/route-table.ts';
export type { Directory, DirectoryAnswer } from './directory/directory.ts';
export { RendezvousDirectory, type RendezvousDirectoryOptions } from './directory/rendezvous-directory.ts';
export { PlaceTable } from './places/place-table.ts';
export {
  type Cell,
  centreOf,
  commonLevel,
  hopsBetween,
  type Square,
  siblingsOf,
  squareOf,
} from './places/quad-tree.ts';
export {
  chooseNeighbours,
  type Located,
  type LocateOptions,
  RouteNode,
  type RouteNodeOptions,
} from './route-node.ts';
export { type Attributes, matches, pairKeys, queryKeys, subsetKeys } from './tree/attributes.ts';
export { TreeNode, type TreeOptions } from './tree/tree-node.ts';
export { RouteError, type RouteErrorCode } from './wire/route-error.ts';
