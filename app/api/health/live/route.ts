export const dynamic = "force-dynamic";

export const GET = (): Response => Response.json({ live: true });
