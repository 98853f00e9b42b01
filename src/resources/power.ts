import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { dryRun } from '../api/reply.ts'
import { closed } from '../model/fields.ts'

const DRAIN_S = 30

const Query = closed({
  drain: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 300,
      description: `Seconds that connections have to end, 0 to 300; default ${DRAIN_S} (extension).`,
    }),
  ),
  force: Type.Optional(
    Type.Enum(['true', 'false'], {
      description:
        'Proceed even while packages are being changed, which continues after the next start, and even if the other nodes cannot work without this one (extension).',
    }),
  ),
})

const CHANGES = [
  { change: 'halt', summary: 'Shut down the machine', message: 'The server is shutting down' },
  { change: 'reboot', summary: 'Restart the machine', message: 'The server is restarting' },
] as const

export const power = CHANGES.map(({ change, summary, message }) =>
  endpoint({
    name: `power.${change}`,
    method: 'PUT',
    path: `/{applianceId}/system/${change}`,
    effect: 'act',
    staged: true,
    managedOnly: true,
    refuses: ['JOB_IN_PROGRESS', 'IN_USE'],
    summary: `${summary} after giving its connections time to end`,
    about: 'New clients are refused first, and open connections have the time given by drain',
    message,
    query: Query,
    data: NoData,
    handle: async (ctx, { query }) => {
      const { actor } = ctx
      const request = {
        drain_s: query.drain ?? DRAIN_S,
        isForced: query.force === 'true',
        by: actor.email,
        author: actor,
      }
      const { isDryRun } = await ctx.power.request(change, request)
      return isDryRun ? dryRun([], `Recorded only: the trial profile does not ${change} this machine`) : []
    },
  }),
)
