/** Networks of many nodes in one process, on the decisions of `@bloomery/overlay/routing`. */

export {
  type CompareOptions,
  compareLocation,
  crossingRate,
  type LocationFigures,
} from './compare/compare-location.ts';
export { measureRoutes, type RouteFigures } from './measure-routes.ts';
export { type PlaceSearch, PlaceWorld, type PlaceWorldOptions, questionCost } from './place-world.ts';
export { type Graph, randomGraph } from './random-graph.ts';
export { type ChurnFigures, type ChurnRates, simulateChurn } from './route-churn.ts';
export {
  RouteWorld,
  type RouteWorldOptions,
  type SimObject,
  type Walk,
  type WorldPicture,
} from './route-world.ts';
export { type SearchPeer, SearchWorld, type SearchWorldOptions } from './search-world.ts';
export { type TreeSearch, TreeWorld, type TreeWorldOptions } from './tree-world.ts';
