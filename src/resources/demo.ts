import { endpoint } from '../api/endpoint.ts'

export const demo = [
  endpoint({
    name: 'demo.remove',
    method: 'DELETE',
    path: '/demo',
    effect: 'act',
    extension: true,
    refuses: ['NOT_SUPPORTED'],
    summary: 'Remove the demonstration: its traffic, origins and configuration, at once',
    message: 'The demonstration is gone',
    handle: (ctx) => ctx.demo.remove(ctx.actor.email),
  }),
]
