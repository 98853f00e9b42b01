import { Type } from 'typebox'
import { endpoint, nodeParameter, oneNodeParameter } from '../api/endpoint.ts'
import { closed } from '../model/fields.ts'
import { Job } from '../model/job.ts'
import { OfNodes } from '../model/of-nodes.ts'

export const jobs = [
  endpoint({
    name: 'jobs.list',
    method: 'GET',
    path: '/jobs',
    effect: 'read',
    extension: true,
    summary: 'List the jobs of this node, newest first',
    message: 'Jobs',
    ofNodes: { time: 'startedAt' },
    beside: OfNodes,
    query: closed({ node: nodeParameter }),
    data: Type.Array(
      Type.Object({
        nodeId: Type.Optional(Type.String({ description: 'Node of the job; with node=all.' })),
        ...Job.properties,
      }),
    ),
    handle: (ctx) => [...ctx.jobs.list()],
  }),
  endpoint({
    name: 'jobs.get',
    method: 'GET',
    path: '/jobs/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read the progress, log and result of a job',
    message: 'Job {id}',
    ofNodes: 'one',
    query: closed({ node: oneNodeParameter }),
    data: Job,
    handle: (ctx, { params }) => ctx.jobs.get(params.id),
  }),
  endpoint({
    name: 'jobs.cancel',
    method: 'PUT',
    path: '/jobs/{id}/cancel',
    effect: 'act',
    extension: true,
    refuses: ['NOT_SUPPORTED'],
    summary: 'Cancel a job, where that is safe',
    message: 'Job {id} is being cancelled',
    ofNodes: 'one',
    query: closed({ node: oneNodeParameter }),
    handle: (ctx, { params }) => ctx.jobs.cancel(params.id),
  }),
]
