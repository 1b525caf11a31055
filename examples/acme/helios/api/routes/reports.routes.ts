import { Router, type NextFunction, type Request, type Response } from 'express';
import { requireAdmin } from '../middleware/auth';
import { reportService } from '../services/reports';

const router = Router();

/**
 * @openapi
 * /reports/{id}:
 *   get:
 *     operationId: getReport
 *     summary: Get a finished report
 *     tags:
 *       - reports
 *     parameters:
 *       - name: id
 *         in: path
 *         required: true
 *         description: Report id
 *         schema:
 *           type: string
 *       - name: format
 *         in: query
 *         description: Output format
 *         schema:
 *           type: string
 *           enum: [json, csv]
 *           default: json
 *     responses:
 *       200:
 *         description: The report
 *         content:
 *           application/json:
 *             schema:
 *               type: object
 *               properties:
 *                 id:
 *                   type: string
 *                 rows:
 *                   type: array
 *                   items:
 *                     type: object
 *             example:
 *               id: r_12
 *               rows: []
 *       404:
 *         description: No such report
 */
router.get('/reports/:id', requireAdmin, async (req: Request, res: Response, next: NextFunction) => {
  try {
    const report = await reportService.find(req.params.id, String(req.query.format ?? 'json'));
    if (!report) return res.status(404).json({ code: 'not_found', message: 'no such report' });
    return res.json(report);
  } catch (err) {
    return next(err);
  }
});

/**
 * @openapi
 * /reports:
 *   post:
 *     operationId: createReport
 *     summary: Queue a new report
 *     tags:
 *       - reports
 *     parameters:
 *       - name: X-Request-Id
 *         in: header
 *         required: false
 *         description: Id for tracing the request
 *         schema:
 *           type: string
 *     requestBody:
 *       required: true
 *       content:
 *         application/json:
 *           schema:
 *             type: object
 *             required: [kind]
 *             properties:
 *               kind:
 *                 type: string
 *                 enum: [logins, licences, storage]
 *               since:
 *                 type: string
 *                 format: date
 *           example:
 *             kind: logins
 *             since: "2024-01-01"
 *     responses:
 *       202:
 *         description: The report was queued
 *       400:
 *         description: Unknown kind of report
 *       429:
 *         description: Too many reports are queued
 */
router.post('/reports', requireAdmin, async (req: Request, res: Response, next: NextFunction) => {
  try {
    const job = await reportService.queue(req.body.kind, req.body.since);
    return res.status(202).json(job);
  } catch (err) {
    return next(err);
  }
});

export default router;
