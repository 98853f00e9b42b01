import type { Endpoint } from './endpoint.ts'

/** The specification spells the id of a node in two ways. The daemon accepts both; clients see one. */
export const documentedPath = ({ path }: Pick<Endpoint, 'path'>): string =>
  path.replace('{applianceID}', '{applianceId}')
