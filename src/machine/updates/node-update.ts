import type { ChangedPackage } from '../../drivers/apt/parse.ts'
import type { Job } from '../../model/job.ts'

/** Address of the requests with which nodes of a cluster coordinate an update of all of them. */
export const NODE_UPDATE = '/update'

export interface NodeUpdate {
  /** Id of the job on the requested node: a known job is not begun again. */
  readonly jobId: string
  /** Name of the package. */
  readonly name: string
  /** E-mail address of the user who requested it. */
  readonly by: string
}

export interface NodeUpdateTold {
  /** State of that job; undefined if it cannot begin now. */
  readonly state?: Job['state']
  /** Why it cannot begin now. */
  readonly refused?: string
  readonly step: string
  /** Why it has failed. */
  readonly problem?: string
  /** The changed package; undefined if there was nothing newer. */
  readonly changed?: ChangedPackage
  /** Version of Fulcrum on the node that answers. */
  readonly version: string
  /** Whether the package is Fulcrum's. */
  readonly isOwn: boolean
  /** Number of the last log entry that it has carried out. */
  readonly sequence: number
  /** Why it no longer follows the cluster. */
  readonly halted?: string
}

/** Lenient enough for answers of another version: missing fields are unknown. */
export const isNodeUpdateTold = (told: unknown): told is NodeUpdateTold =>
  typeof Reflect.get(Object(told), 'version') === 'string' && typeof Reflect.get(Object(told), 'sequence') === 'number'

export const isNodeUpdate = (asked: unknown): asked is NodeUpdate =>
  ['jobId', 'name', 'by'].every((field) => typeof Reflect.get(Object(asked), field) === 'string')
