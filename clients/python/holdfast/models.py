"""The bodies of the contract, as types.

Made by generate.py from api/openapi.yaml: change that, and run it again."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired       # known to every checker of types; nothing is installed for it

Atomic = bool
Barcode = str
Code = Literal[
    'invalid_request', 'unsupported_filter', 'unauthorized', 'key_expired', 'forbidden', 'not_found',
    'unknown_sku', 'unknown_order', 'unknown_movement', 'unknown_task', 'unknown_webhook', 'unknown_job',
    'no_key_here', 'unknown_location', 'webhook_id_reused', 'method_not_allowed', 'short', 'not_for_sale',
    'wrong_kind', 'in_use', 'over_returned', 'limit', 'count_mismatch', 'lease_lost', 'events_off',
    'cursor_expired', 'too_large', 'not_all', 'not_done', 'unsupported_media_type', 'order_id_reused',
    'movement_id_reused', 'not_in_order', 'nothing_left', 'customer_required', 'limit_reached', 'changed',
    'rate_limited', 'busy', 'storage_full', 'unavailable', 'unknown_outcome', 'held', 'confirmed', 'settled',
    'released', 'expired', 'buried', 'claimed', 'waiting', 'on_hold'
]
ConfirmAsked = bool
CreateAsked = bool
Id = str
IfState = Literal['held']
Instance = str
KeyName = str
LeaseAsked = int
LimitAsked = int
LimitedBy = Literal[True]
Location = str
ModeAsked = Literal['all_or_nothing', 'best_effort']
MovementId = str
NextCursor = Optional[str]
PerCustomer = int
PlaceKind = Literal['stock', 'aside', 'incoming']
Qty = int
Seconds = List[Optional[int]]
ShipAfterAsked = str
ShortAsked = Literal['backorder']
Sku = str
SkuName = str
State = Literal['held', 'confirmed', 'settled', 'released', 'expired', 'buried']
Stopped = Literal[False]
TaskId = int
TaskKind = Literal['settle', 'expire']
TaskState = Literal['open', 'done', 'returned', 'reaped']
Text = str
Time = str
Total = int
Ttl = int
Version = int
WebhookParallel = int
WebhookTypes = List[
    Literal['reservation.held', 'reservation.confirmed', 'reservation.extended', 'reservation.released',
    'reservation.expired', 'reservation.settled', 'reservation.buried', 'reservation.kicked', 'reservation.split',
    'reservation.replaced', 'reservation.arrived', 'reservation.backordered', 'reservation.changed',
    'reservation.on_hold', 'reservation.off_hold', 'movement.receipt', 'movement.adjustment', 'movement.return',
    'movement.count', 'movement.settlement', 'movement.transfer', 'movement.arrival', 'stock.out', 'stock.low',
    'stock.back', 'stock.changed', 'sku.for_sale', 'location.for_sale']
]
WebhookUrl = str


class RequestLine(TypedDict):
    sku: Sku
    location: NotRequired[LocationAsked]
    qty: Qty


class ReceiptRequest(TypedDict):
    """Units come in from a supplier."""

    movement_id: MovementId
    kind: Literal['receipt']
    lines: List[RequestLine]
    create: NotRequired[CreateAsked]
    reason: NotRequired[Text]
    reference: NotRequired[Text]


class ReturnRequest(TypedDict):
    """Units come back from a customer."""

    movement_id: MovementId
    kind: Literal['return']
    order_id: NotRequired[Id]
    lines: List[RequestLine]
    create: NotRequired[CreateAsked]
    reason: NotRequired[Text]
    reference: NotRequired[Text]


class AdjustmentRequestLine(TypedDict):
    sku: Sku
    location: NotRequired[LocationAsked]
    qty: int
    expected: NotRequired[Total]
    short: NotRequired[ShortAsked]
    to: NotRequired[BackorderedTo]


class AdjustmentRequest(TypedDict):
    """A correction of the number of units, up or down."""

    movement_id: MovementId
    kind: Literal['adjustment']
    lines: List[AdjustmentRequestLine]
    create: NotRequired[CreateAsked]
    reason: NotRequired[Text]
    reference: NotRequired[Text]


class CountRequestLine(TypedDict):
    sku: Sku
    location: NotRequired[LocationAsked]
    counted: Total
    expected: NotRequired[Total]
    as_of: NotRequired[str]
    short: NotRequired[ShortAsked]
    to: NotRequired[BackorderedTo]


class CountRequest(TypedDict):
    """A count of the shelf. Each sku and location once."""

    movement_id: MovementId
    kind: Literal['count']
    lines: List[CountRequestLine]
    create: NotRequired[CreateAsked]
    reason: NotRequired[Text]
    reference: NotRequired[Text]


TransferLine = TypedDict('TransferLine', {
    'sku': 'Sku',
    'from': 'Location',
    'to': 'Location',
    'qty': 'Qty',
})


class TransferRequest(TypedDict):
    """Units go from one location to another in one step. What `from` gives has to be there before, not by another
    of the lines. A new `to` is of kind `stock`."""

    movement_id: MovementId
    kind: Literal['transfer']
    lines: List[TransferLine]
    create: NotRequired[CreateAsked]
    reason: NotRequired[Text]
    reference: NotRequired[Text]


class ArrivalRequest(TypedDict):
    """Promised units have come. They go to the orders that wait for them at `from`, in the order of their line,
    piece by piece; what all of these leave over is for sale at `to`. Booked in one step and handed out in
    batches, by any service of the database. The answer waits up to a second for that; a replay and a GET say
    how far it has come. Until then the units count at `from`, and can neither be lowered nor transferred nor
    arrive again. `from` is an incoming location, `to` one of kind `stock`, or a new one. More than was promised
    is `short`."""

    movement_id: MovementId
    kind: Literal['arrival']
    lines: List[TransferLine]
    create: NotRequired[CreateAsked]
    reason: NotRequired[Text]
    reference: NotRequired[Text]


class SkusQuery(TypedDict):
    """What skus may be asked with."""

    q: NotRequired[str]
    prefix: NotRequired[str]
    location: NotRequired[Location]
    barcode: NotRequired[Barcode]
    low: NotRequired[Literal[True, 'true']]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class SkuQuery(TypedDict):
    """What sku may be asked with."""

    max_age_ms: NotRequired[int]


class SkuRequest(TypedDict):
    per_customer: NotRequired[Optional[PerCustomer]]
    name: NotRequired[Optional[SkuName]]
    barcodes: NotRequired[Optional[Barcodes]]
    for_sale: NotRequired[bool]
    reason: NotRequired[Text]


class SkusForSaleRequest(TypedDict):
    skus: List[Sku]
    for_sale: bool
    reason: NotRequired[Text]


class WaitingQuery(TypedDict):
    """What waiting may be asked with."""

    limit: NotRequired[int]
    cursor: NotRequired[str]
    location: NotRequired[Location]


class ThresholdRequest(TypedDict):
    low: Optional[Total]
    location: NotRequired[Location]


class DeleteThresholdQuery(TypedDict):
    """What delete_threshold may be asked with."""

    location: NotRequired[Location]


class ThresholdsQuery(TypedDict):
    """What thresholds may be asked with."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


class HoldsQuery(TypedDict):
    """What holds may be asked with."""

    location: NotRequired[Location]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class MovementsQuery(TypedDict):
    """What movements may be asked with."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


class LocationsQuery(TypedDict):
    """What locations may be asked with."""

    sums: NotRequired[Literal[True, 'true']]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class LocationQuery(TypedDict):
    """What location may be asked with."""

    sums: NotRequired[Literal[True, 'true']]


class PlaceRequest(TypedDict):
    kind: NotRequired[PlaceKind]
    expected_at: NotRequired[Optional[str]]
    waits_at: NotRequired[Optional[Location]]
    for_sale: NotRequired[bool]
    reason: NotRequired[Text]


class AvailabilityRequest1(TypedDict):
    skus: List[Sku]
    locations: NotRequired[Locations]


class BasketLine(TypedDict):
    sku: Sku
    qty: Qty


class Basket(TypedDict):
    id: Id
    lines: List[BasketLine]


class AvailabilityRequest2(TypedDict):
    baskets: List[Basket]
    locations: NotRequired[Locations]


class StockRequest(TypedDict):
    skus: List[Sku]
    locations: NotRequired[Locations]


class RequestListLine(TypedDict):
    """Units from the first location that has them all; with `may_split` piece by piece in that order."""

    sku: Sku
    qty: Qty
    locations: Locations
    may_split: NotRequired[bool]


class ReservationRequest(TypedDict):
    order_id: Id
    lines: List[Union[RequestLine, RequestListLine]]
    ttl_s: NotRequired[TtlAsked]
    mode: NotRequired[ModeAsked]
    confirm: NotRequired[ConfirmAsked]
    replaces: NotRequired[Id]
    reference: NotRequired[Text]
    customer: NotRequired[Id]
    ship_after: NotRequired[ShipAfterAsked]
    waits_since: NotRequired[str]


class ReservationsQuery(TypedDict):
    """What reservations may be asked with."""

    state: NotRequired[State]
    sku: NotRequired[Sku]
    location: NotRequired[Location]
    error: NotRequired[str]
    on_hold: NotRequired[Literal[True, 'true']]
    customer: NotRequired[Id]
    reference: NotRequired[str]
    customer_prefix: NotRequired[str]
    reference_prefix: NotRequired[str]
    prefix: NotRequired[str]
    created_after: NotRequired[str]
    created_before: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class FindRequest(TypedDict):
    order_ids: List[Id]


class BatchRequest(TypedDict):
    reservations: List[ReservationRequest]
    atomic: NotRequired[Atomic]


class ChangeRequest(TypedDict):
    lines: List[Union[RequestLine, RequestListLine]]
    ttl_s: NotRequired[Ttl]
    mode: NotRequired[ModeAsked]
    if_version: NotRequired[Version]
    force: NotRequired[bool]


class HistoryQuery(TypedDict):
    """What history may be asked with."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


class ConfirmRequest(TypedDict):
    if_expired: NotRequired[Literal['reacquire']]


class ReleaseRequest(TypedDict):
    if_state: NotRequired[IfState]


class SettleRequest(TypedDict):
    force: NotRequired[bool]


class HoldRequest(TypedDict):
    until: Optional[str]
    reason: NotRequired[Text]


class ConfirmationsRequest(TypedDict):
    order_ids: OrderIds
    atomic: NotRequired[Atomic]
    if_expired: NotRequired[Literal['reacquire']]


class ReleasesRequest(TypedDict):
    order_ids: OrderIds
    atomic: NotRequired[Atomic]
    if_state: NotRequired[IfState]


class SettlementsRequest(TypedDict):
    order_ids: OrderIds
    atomic: NotRequired[Atomic]


class ExtendRequest(TypedDict):
    ttl_s: Ttl


class SplitRequest(TypedDict):
    order_id: Id
    lines: List[RequestLine]
    then: NotRequired[Literal['confirm', 'release', 'settle']]
    force: NotRequired[bool]


class EventsQuery(TypedDict):
    """What events may be asked with."""

    after: NotRequired[str]
    limit: NotRequired[int]
    wait_s: NotRequired[int]
    types: NotRequired[str]


class ClaimRequest(TypedDict):
    kind: TaskKind
    worker: Id
    limit: NotRequired[LimitAsked]
    lease_s: NotRequired[LeaseAsked]


class TasksQuery(TypedDict):
    """What tasks may be asked with."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


class HeartbeatRequest(TypedDict):
    lease_s: NotRequired[LeaseAsked]


class CompleteRequest(TypedDict):
    order_ids: NotRequired[List[Id]]


class FailRequestOrder(TypedDict):
    order_id: Id
    error: Text
    retry: bool


class FailRequest(TypedDict):
    orders: List[FailRequestOrder]


WebhookRequest = TypedDict('WebhookRequest', {
    'webhook_id': 'Id',
    'url': 'WebhookUrl',
    'types': 'NotRequired[WebhookTypes]',
    'from': "NotRequired[Literal['now', 'oldest']]",
    'parallel': 'NotRequired[WebhookParallel]',
})


class WebhooksQuery(TypedDict):
    """What webhooks may be asked with."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


EnableRequest = TypedDict('EnableRequest', {
    'skip': 'NotRequired[bool]',
    'from': 'NotRequired[str]',
})


class SetJobRequest(TypedDict):
    paused: bool
    reason: NotRequired[str]


class BuriedQuery(TypedDict):
    """What buried may be asked with."""

    limit: NotRequired[int]
    cursor: NotRequired[str]


class KicksRequest(TypedDict):
    error: NotRequired[Optional[str]]
    cursor: NotRequired[str]


class ActivityQuery(TypedDict):
    """What activity may be asked with."""

    since: NotRequired[Time]


class MovementLine(TypedDict):
    sku: Sku
    location: Location
    qty: int


# Units that went from a location to another; of an arrival they are those that have come.
TransferredLine = TypedDict('TransferredLine', {
    'sku': 'Sku',
    'from': 'Location',
    'to': 'Location',
    'qty': 'Total',
    'filled': 'NotRequired[Total]',
    'for_sale': 'NotRequired[Total]',
    'waiting': 'NotRequired[Total]',
})


class MovementBackorderedItem(TypedDict):
    order_id: Id
    sku: Sku
    qty: Total


class Movement(TypedDict):
    """A change of on_hand. Lines are sorted by sku, then location, as bytes; those of a transfer or an arrival
    name both ends, and equal ones are one, which may have more units than a request may."""

    movement_id: str
    kind: Literal['receipt', 'return', 'adjustment', 'count', 'settlement', 'transfer', 'arrival']
    created_at: Time
    reason: NotRequired[Text]
    reference: NotRequired[Text]
    order_id: NotRequired[Id]
    by: NotRequired[KeyName]
    lines: List[Union[MovementLine, TransferredLine]]
    backordered: NotRequired[List[MovementBackorderedItem]]
    replayed: NotRequired[bool]


class MovementMadeBackorderedItem(TypedDict):
    order_id: Id
    sku: Sku
    qty: Total


class MovementMade(TypedDict):
    movement_id: str
    kind: Literal['receipt', 'return', 'adjustment', 'count', 'settlement', 'transfer', 'arrival']
    created_at: Time
    reason: NotRequired[Text]
    reference: NotRequired[Text]
    order_id: NotRequired[Id]
    by: NotRequired[KeyName]
    lines: List[Union[MovementLine, TransferredLine]]
    backordered: NotRequired[List[MovementMadeBackorderedItem]]
    new_skus: NotRequired[List[Sku]]
    new_locations: NotRequired[List[Location]]
    replayed: NotRequired[bool]


class ListedSkuIncoming(TypedDict):
    """Units that are promised, at locations of kind `incoming`; absent where there are none."""

    available: Total
    reserved: Total
    stopped: NotRequired[StoppedUnits]


class StockAtLocation(TypedDict):
    location: Location
    kind: PlaceKind
    available: Total
    reserved: Total
    on_hand: Total
    stopped: NotRequired[StoppedUnits]
    for_sale: NotRequired[Literal[False]]
    expected_at: NotRequired[Time]


class ListedSkuLowItem(TypedDict):
    location: NotRequired[Location]
    low: Total
    available: Total


class ListedSku(TypedDict):
    sku: Sku
    available: Total
    reserved: Total
    on_hand: Total
    aside: NotRequired[Total]
    stopped: NotRequired[StoppedUnits]
    for_sale: NotRequired[Literal[False]]
    incoming: NotRequired[ListedSkuIncoming]
    name: NotRequired[SkuName]
    barcodes: NotRequired[Barcodes]
    reason: NotRequired[StopReason]
    locations: NotRequired[List[StockAtLocation]]
    low: NotRequired[List[ListedSkuLowItem]]


class SkusPage(TypedDict):
    items: List[ListedSku]
    next_cursor: NextCursor


class StockIncoming(TypedDict):
    """Units that are promised, at locations of kind `incoming`; absent where there are none."""

    available: Total
    reserved: Total
    stopped: NotRequired[StoppedUnits]


class ThresholdThere(TypedDict):
    location: NotRequired[Location]
    low: Total


class Stock(TypedDict):
    sku: Sku
    available: Total
    reserved: Total
    on_hand: Total
    aside: NotRequired[Total]
    stopped: NotRequired[StoppedUnits]
    for_sale: NotRequired[Literal[False]]
    incoming: NotRequired[StockIncoming]
    locations: List[StockAtLocation]
    per_customer: NotRequired[PerCustomer]
    name: NotRequired[SkuName]
    barcodes: NotRequired[Barcodes]
    thresholds: NotRequired[List[ThresholdThere]]
    reason: NotRequired[StopReason]


class SkuSettings(TypedDict):
    sku: Sku
    per_customer: NotRequired[PerCustomer]
    name: NotRequired[SkuName]
    barcodes: NotRequired[Barcodes]
    for_sale: NotRequired[Stopped]
    reason: NotRequired[StopReason]


class SkusForSaleItem1(TypedDict):
    sku: Sku
    for_sale: bool


class SkusForSaleItem2(TypedDict):
    sku: Sku
    code: Literal['unknown_sku']


class SkusForSale(TypedDict):
    items: List[Union[SkusForSaleItem1, SkusForSaleItem2]]


class CustomerAnswer(TypedDict):
    sku: Sku
    customer: Id
    per_customer: NotRequired[PerCustomer]
    has: Total


class WaitingPageItem(TypedDict):
    order_id: Id
    location: Location
    qty: Total
    state: Literal['held', 'confirmed', 'buried']
    waits_since: Time


class WaitingPage(TypedDict):
    items: List[WaitingPageItem]
    next_cursor: NextCursor


class Threshold(TypedDict):
    sku: Sku
    location: NotRequired[Location]
    low: NotRequired[Total]


class ThresholdsPage(TypedDict):
    items: List[ThresholdThere]
    next_cursor: NextCursor


class Line(TypedDict):
    sku: Sku
    location: Location
    qty: Total
    waiting: NotRequired[bool]
    expected_at: NotRequired[Time]


class ReservationReturnedItem(TypedDict):
    sku: Sku
    qty: Total


class ReservationOnHold(TypedDict):
    """While it is held back from shipping."""

    until: Optional[Time]
    reason: NotRequired[Text]


class Reservation(TypedDict):
    """Lines are summed and sorted by sku, then location, as bytes. A time is there once it has come."""

    order_id: Id
    state: State
    lines: List[Line]
    created_at: Time
    expires_at: Time
    attempts: int
    version: Version
    confirmed_at: NotRequired[Time]
    released_at: NotRequired[Time]
    settled_at: NotRequired[Time]
    returned: NotRequired[List[ReservationReturnedItem]]
    last_error: NotRequired[str]
    reference: NotRequired[Text]
    replaced_by: NotRequired[Id]
    customer: NotRequired[Id]
    ship_after: NotRequired[Time]
    on_hold: NotRequired[ReservationOnHold]
    waits_since: NotRequired[Time]
    by: NotRequired[KeyName]
    replayed: NotRequired[bool]


class HoldsPage(TypedDict):
    items: List[Reservation]
    next_cursor: NextCursor


class MovementsPage(TypedDict):
    items: List[Movement]
    next_cursor: NextCursor


class PlaceStock(TypedDict):
    """With `sums=true`: the units at the location, summed over all skus, in the words of `locations` of a sku.
    Units that are kept for a queue (`waits_at`) count as `available` until an order gets them, and at the
    location of the queue as `reserved`, as in `GET /v1/stats`."""

    skus: int
    available: Total
    reserved: Total
    on_hand: Total
    stopped: NotRequired[StoppedUnits]


class Place(TypedDict):
    location: Location
    kind: PlaceKind
    expected_at: NotRequired[Time]
    waits_at: NotRequired[Location]
    for_sale: NotRequired[Stopped]
    reason: NotRequired[StopReason]
    stock: NotRequired[PlaceStock]


class LocationsPage(TypedDict):
    items: List[Place]
    next_cursor: NextCursor
    counted_at: NotRequired[CountedAt]


class LocationAnswer(TypedDict):
    location: Location
    kind: PlaceKind
    expected_at: NotRequired[Time]
    waits_at: NotRequired[Location]
    for_sale: NotRequired[Stopped]
    reason: NotRequired[StopReason]
    stock: NotRequired[PlaceStock]
    counted_at: NotRequired[CountedAt]


class StockLevelIncoming(TypedDict):
    """Units that are promised, at locations of kind `incoming`; absent where there are none."""

    available: Total
    reserved: Total
    stopped: NotRequired[StoppedUnits]


class StockLevel(TypedDict):
    """`available` and `reserved` are of locations of kind `stock`; on_hand is their sum, and what lies aside or is
    stopped."""

    sku: Sku
    available: Total
    reserved: Total
    on_hand: Total
    aside: NotRequired[Total]
    stopped: NotRequired[StoppedUnits]
    for_sale: NotRequired[Literal[False]]
    incoming: NotRequired[StockLevelIncoming]


class AvailabilityOfSkusItem(TypedDict):
    """A sku that was never received."""

    sku: Sku
    code: Literal['unknown_sku']


class AvailabilityOfSkus(TypedDict):
    items: List[Union[StockLevel, AvailabilityOfSkusItem]]


class AvailabilityOfBasketsBasket1(TypedDict):
    id: Id
    available: Total
    limited_by: List[Sku]


class AvailabilityOfBasketsBasket2(TypedDict):
    """It names a sku that was never received."""

    id: Id
    code: Literal['unknown_sku']


class AvailabilityOfBaskets(TypedDict):
    baskets: List[Union[AvailabilityOfBasketsBasket1, AvailabilityOfBasketsBasket2]]


class StockAnswerItem(TypedDict):
    """A sku that does not exist."""

    sku: Sku
    code: Literal['unknown_sku']


class StockAnswer(TypedDict):
    items: List[Union[Stock, StockAnswerItem]]


class ReservationAnswerReturnedItem(TypedDict):
    sku: Sku
    qty: Total


class ReservationAnswerOnHold(TypedDict):
    """While it is held back from shipping."""

    until: Optional[Time]
    reason: NotRequired[Text]


class ShortLine(TypedDict):
    """A line with too few units. In a best_effort order `available` is the number of units that were there when
    the order was decided, and so the number that it got. For an order that replaces another one, the units of
    that one are among the available ones."""

    sku: Sku
    location: Location
    requested: Total
    available: Total
    limit: NotRequired[LimitedBy]


class ShortListLine(TypedDict):
    """A line with several locations and too few units. `available` is the most that one of them had, with
    `may_split` their sum, after what the lines before it took; in a best_effort order the number that it got."""

    sku: Sku
    locations: Locations
    requested: Total
    available: Total
    limit: NotRequired[LimitedBy]


class ReservationAnswer(TypedDict):
    order_id: Id
    state: State
    lines: List[Line]
    created_at: Time
    expires_at: Time
    attempts: int
    version: Version
    confirmed_at: NotRequired[Time]
    released_at: NotRequired[Time]
    settled_at: NotRequired[Time]
    returned: NotRequired[List[ReservationAnswerReturnedItem]]
    last_error: NotRequired[str]
    reference: NotRequired[Text]
    replaced_by: NotRequired[Id]
    customer: NotRequired[Id]
    ship_after: NotRequired[Time]
    on_hold: NotRequired[ReservationAnswerOnHold]
    waits_since: NotRequired[Time]
    by: NotRequired[KeyName]
    short: NotRequired[List[Union[ShortLine, ShortListLine]]]
    reacquired: NotRequired[bool]
    replayed: NotRequired[bool]


class ReservationsPage(TypedDict):
    items: List[Reservation]
    next_cursor: NextCursor


class FindAnswer(TypedDict):
    items: List[Optional[Reservation]]


class BatchHeldReturnedItem(TypedDict):
    sku: Sku
    qty: Total


class BatchHeldOnHold(TypedDict):
    """While it is held back from shipping."""

    until: Optional[Time]
    reason: NotRequired[Text]


class BatchHeld(TypedDict):
    order_id: Id
    state: State
    lines: List[Line]
    created_at: Time
    expires_at: Time
    attempts: int
    version: Version
    confirmed_at: NotRequired[Time]
    released_at: NotRequired[Time]
    settled_at: NotRequired[Time]
    returned: NotRequired[List[BatchHeldReturnedItem]]
    last_error: NotRequired[str]
    reference: NotRequired[Text]
    replaced_by: NotRequired[Id]
    customer: NotRequired[Id]
    ship_after: NotRequired[Time]
    on_hold: NotRequired[BatchHeldOnHold]
    waits_since: NotRequired[Time]
    by: NotRequired[KeyName]
    short: NotRequired[List[Union[ShortLine, ShortListLine]]]
    reacquired: NotRequired[bool]
    status: Literal[200, 201]
    replayed: NotRequired[bool]


class SkuLocation(TypedDict):
    sku: Sku
    location: Location


class SkuLocations(TypedDict):
    """A line that named several locations."""

    sku: Sku
    locations: Locations


class LimitLine(TypedDict):
    """A sku of which the customer would have more than one may. `requested` is the sum of its lines. `has` is what
    the customer has beside the order that is replaced, expired holds not counted."""

    sku: Sku
    limit: PerCustomer
    has: Total
    requested: Total


class BatchRefused(TypedDict):
    """The members of the problem that a single call would have answered."""

    order_id: NotRequired[Id]
    status: Literal[400, 403, 409, 422, 424, 429, 503]
    code: Literal[
        'invalid_request', 'forbidden', 'not_done', 'short', 'not_for_sale', 'unknown_sku', 'unknown_location',
        'unknown_order', 'order_id_reused', 'customer_required', 'limit_reached', 'confirmed', 'settled', 'released',
        'expired', 'buried', 'claimed', 'rate_limited', 'busy', 'storage_full', 'unavailable', 'unknown_outcome'
    ]
    type: NotRequired[str]
    title: NotRequired[str]
    detail: NotRequired[str]
    field: NotRequired[str]
    replayed: NotRequired[bool]
    replaced_by: NotRequired[Id]
    reservation: NotRequired[ReservationAnswer]
    task_id: NotRequired[TaskId]
    worker: NotRequired[Id]
    lease_until: NotRequired[Time]
    lines: NotRequired[List[Union[ShortLine, ShortListLine, SkuLocation, SkuLocations, LimitLine]]]


class BatchAnswer(TypedDict):
    results: List[Union[BatchHeld, BatchRefused]]


class ReservationWithKinReturnedItem(TypedDict):
    sku: Sku
    qty: Total


class ReservationWithKinOnHold(TypedDict):
    """While it is held back from shipping."""

    until: Optional[Time]
    reason: NotRequired[Text]


class ReservationWithKinTask(TypedDict):
    """The open task that has the order, or the one that settled or expired it. Of a task that was purged nothing
    is said."""

    task_id: TaskId
    worker: Id
    state: TaskState
    lease_until: Time


class ReservationWithKin(TypedDict):
    order_id: Id
    state: State
    lines: List[Line]
    created_at: Time
    expires_at: Time
    attempts: int
    version: Version
    confirmed_at: NotRequired[Time]
    released_at: NotRequired[Time]
    settled_at: NotRequired[Time]
    returned: NotRequired[List[ReservationWithKinReturnedItem]]
    last_error: NotRequired[str]
    reference: NotRequired[Text]
    replaced_by: NotRequired[Id]
    customer: NotRequired[Id]
    ship_after: NotRequired[Time]
    on_hold: NotRequired[ReservationWithKinOnHold]
    waits_since: NotRequired[Time]
    by: NotRequired[KeyName]
    task: NotRequired[ReservationWithKinTask]
    next_attempt_at: NotRequired[Time]
    replaces: NotRequired[Id]
    split_from: NotRequired[Id]
    split_into: NotRequired[List[Id]]


class OnHold(TypedDict):
    until: Optional[Time]
    reason: NotRequired[Text]


class ReservationEventData(TypedDict):
    cause: NotRequired[Union[str, TaskId]]
    lines_cut: NotRequired[bool]
    order_id: Id
    state: State
    lines: List[Line]
    lines_before: NotRequired[List[Line]]
    created_at: Time
    expires_at: Time
    attempts: int
    version: Version
    confirmed_at: NotRequired[Time]
    released_at: NotRequired[Time]
    settled_at: NotRequired[Time]
    last_error: NotRequired[str]
    reference: NotRequired[Text]
    replaced_by: NotRequired[Id]
    customer: NotRequired[Id]
    ship_after: NotRequired[Time]
    on_hold: NotRequired[OnHold]
    waits_since: NotRequired[Time]
    by: NotRequired[KeyName]


class ReservationEvent(TypedDict):
    """A reservation, as a GET said it right after that change, but for what a GET of one order adds, whatever has
    become of it since. A step that does several things gives an event for each: `held` before `confirmed`,
    `replaced` of the old order before `held` of the new one, `split` of the first before `split` of the new
    one."""

    id: str
    type: Literal[
        'reservation.held', 'reservation.confirmed', 'reservation.extended', 'reservation.released',
        'reservation.expired', 'reservation.settled', 'reservation.buried', 'reservation.kicked', 'reservation.split',
        'reservation.replaced', 'reservation.arrived', 'reservation.backordered', 'reservation.changed',
        'reservation.on_hold', 'reservation.off_hold'
    ]
    at: Time
    by: NotRequired[KeyName]
    data: ReservationEventData


class HistoryPage(TypedDict):
    items: List[ReservationEvent]
    next_cursor: NextCursor


class ChangedReturnedItem(TypedDict):
    sku: Sku
    qty: Total


class ChangedOnHold(TypedDict):
    """While it is held back from shipping."""

    until: Optional[Time]
    reason: NotRequired[Text]


class Changed(TypedDict):
    order_id: Id
    state: State
    lines: List[Line]
    created_at: Time
    expires_at: Time
    attempts: int
    version: Version
    confirmed_at: NotRequired[Time]
    released_at: NotRequired[Time]
    settled_at: NotRequired[Time]
    returned: NotRequired[List[ChangedReturnedItem]]
    last_error: NotRequired[str]
    reference: NotRequired[Text]
    replaced_by: NotRequired[Id]
    customer: NotRequired[Id]
    ship_after: NotRequired[Time]
    on_hold: NotRequired[ChangedOnHold]
    waits_since: NotRequired[Time]
    by: NotRequired[KeyName]
    short: NotRequired[List[Union[ShortLine, ShortListLine]]]
    reacquired: NotRequired[bool]
    status: Literal[200]
    replayed: NotRequired[bool]


class ChangeRefused(TypedDict):
    """The members of the problem that a single call would have answered."""

    order_id: NotRequired[Id]
    status: Literal[400, 404, 409, 424, 503]
    code: Literal[
        'invalid_request', 'not_done', 'unknown_order', 'released', 'expired', 'settled', 'held', 'confirmed',
        'buried', 'claimed', 'on_hold', 'waiting', 'short', 'limit_reached', 'busy', 'storage_full', 'unavailable',
        'unknown_outcome'
    ]
    type: NotRequired[str]
    title: NotRequired[str]
    detail: NotRequired[str]
    field: NotRequired[str]
    task_id: NotRequired[TaskId]
    worker: NotRequired[Id]
    lease_until: NotRequired[Time]
    lines: NotRequired[List[Union[ShortLine, LimitLine]]]


class ChangesAnswer(TypedDict):
    results: List[Union[Changed, ChangeRefused]]


class MovementEventDataBackorderedItem(TypedDict):
    order_id: Id
    sku: Sku
    qty: Total


class MovementEventData(TypedDict):
    cause: NotRequired[Union[str, TaskId]]
    lines_cut: NotRequired[bool]
    movement_id: str
    kind: Literal['receipt', 'return', 'adjustment', 'count', 'settlement', 'transfer', 'arrival']
    created_at: Time
    reason: NotRequired[Text]
    reference: NotRequired[Text]
    order_id: NotRequired[Id]
    by: NotRequired[KeyName]
    lines: List[Union[MovementLine, TransferredLine]]
    backordered: NotRequired[List[MovementEventDataBackorderedItem]]


class MovementEvent(TypedDict):
    """A movement, as a GET of it says."""

    id: str
    type: Literal[
        'movement.receipt', 'movement.adjustment', 'movement.return', 'movement.count', 'movement.settlement',
        'movement.transfer', 'movement.arrival'
    ]
    at: Time
    by: NotRequired[KeyName]
    data: MovementEventData


class LevelEventData(TypedDict):
    sku: Sku
    location: NotRequired[Location]
    available: Total
    low: NotRequired[Total]


class LevelEvent(TypedDict):
    """The level of a sku at a location, or over all of them: `stock.out` when nothing is available any more,
    `stock.low` when it fell to its threshold or below, `stock.back` at every rise. Within 2 s of the change,
    once for each change of level; a level that flickers in between is not told."""

    id: str
    type: Literal['stock.out', 'stock.low', 'stock.back']
    at: Time
    by: NotRequired[KeyName]
    data: LevelEventData


class StockEventDataItem(TypedDict):
    sku: Sku
    available: Total
    reserved: Total
    on_hand: Total


class StockEventData(TypedDict):
    items: List[StockEventDataItem]


class StockEvent(TypedDict):
    """Units of skus that have changed, each at most once a second and always once after its last change."""

    id: str
    type: Literal['stock.changed']
    at: Time
    by: NotRequired[KeyName]
    data: StockEventData


class SaleEvent1Data(TypedDict):
    sku: Sku
    for_sale: bool
    reason: NotRequired[Text]


class SaleEvent1(TypedDict):
    id: str
    type: Literal['sku.for_sale']
    at: Time
    by: NotRequired[KeyName]
    data: SaleEvent1Data


class SaleEvent2Data(TypedDict):
    location: Location
    for_sale: bool
    reason: NotRequired[Text]


class SaleEvent2(TypedDict):
    id: str
    type: Literal['location.for_sale']
    at: Time
    by: NotRequired[KeyName]
    data: SaleEvent2Data


class Events(TypedDict):
    items: List[Event]
    next_cursor: str
    more: bool


class ClaimOrder(TypedDict):
    order_id: Id
    attempts: int
    lines: List[Line]


class Claim(TypedDict):
    task_id: TaskId
    kind: TaskKind
    worker: Id
    lease_until: Time
    orders: List[ClaimOrder]


class Task(TypedDict):
    task_id: TaskId
    kind: TaskKind
    worker: Id
    state: TaskState
    lease_until: Time
    claimed: int
    completed: int
    failed: int
    created_at: Time


class TasksPage(TypedDict):
    items: List[Task]
    next_cursor: NextCursor


class CompleteAnswer(TypedDict):
    completed: int
    lost: int
    lost_orders: List[Id]


class FailAnswer(TypedDict):
    retried: int
    buried: int
    lost: int
    lost_orders: List[Id]


Webhook = TypedDict('Webhook', {
    'webhook_id': 'Id',
    'url': 'WebhookUrl',
    'types': 'NotRequired[WebhookTypes]',
    'from': "Literal['now', 'oldest']",
    'parallel': 'WebhookParallel',
    'state': "Literal['active', 'off']",
    'reason': "NotRequired[Literal['gone', 'failed', 'cursor_expired']]",
    'created_at': 'Time',
    'rotated_at': 'NotRequired[Time]',
    'cursor_age_s': 'int',
    'last_status': 'NotRequired[int]',
    'last_error': 'NotRequired[str]',
    'failures': 'int',
    'failed_event': 'NotRequired[str]',
    'failing_since': 'NotRequired[Time]',
    'retry_at': 'NotRequired[Time]',
    'replayed': 'NotRequired[bool]',
})


WebhookWithSecret = TypedDict('WebhookWithSecret', {
    'webhook_id': 'Id',
    'url': 'WebhookUrl',
    'types': 'NotRequired[WebhookTypes]',
    'from': "Literal['now', 'oldest']",
    'parallel': 'WebhookParallel',
    'state': "Literal['active', 'off']",
    'reason': "NotRequired[Literal['gone', 'failed', 'cursor_expired']]",
    'created_at': 'Time',
    'rotated_at': 'NotRequired[Time]',
    'cursor_age_s': 'int',
    'last_status': 'NotRequired[int]',
    'last_error': 'NotRequired[str]',
    'failures': 'int',
    'failed_event': 'NotRequired[str]',
    'failing_since': 'NotRequired[Time]',
    'retry_at': 'NotRequired[Time]',
    'secret': 'str',
    'replayed': 'NotRequired[bool]',
})


MakeWebhookAnswer = TypedDict('MakeWebhookAnswer', {
    'webhook_id': 'Id',
    'url': 'WebhookUrl',
    'types': 'NotRequired[WebhookTypes]',
    'from': "Literal['now', 'oldest']",
    'parallel': 'WebhookParallel',
    'state': "Literal['active', 'off']",
    'reason': "NotRequired[Literal['gone', 'failed', 'cursor_expired']]",
    'created_at': 'Time',
    'rotated_at': 'NotRequired[Time]',
    'cursor_age_s': 'int',
    'last_status': 'NotRequired[int]',
    'last_error': 'NotRequired[str]',
    'failures': 'int',
    'failed_event': 'NotRequired[str]',
    'failing_since': 'NotRequired[Time]',
    'retry_at': 'NotRequired[Time]',
    'secret': 'NotRequired[str]',
})


class WebhooksPage(TypedDict):
    items: List[Webhook]
    next_cursor: NextCursor


class Ping(TypedDict):
    status: NotRequired[int]
    error: NotRequired[str]
    ms: NotRequired[int]
    body: NotRequired[str]


class AttemptsItem(TypedDict):
    status: NotRequired[int]
    error: NotRequired[str]
    ms: int
    body: str
    event_id: str
    type: str
    at: Time


class Attempts(TypedDict):
    items: List[AttemptsItem]
    at: NotRequired[Time]
    instance: NotRequired[str]


class JobListItemWorker(TypedDict):
    worker: str
    tasks: int


class JobListItem(TypedDict):
    job: Literal['settle', 'expire', 'deliver']
    paused: bool
    reason: NotRequired[str]
    by: NotRequired[str]
    since: NotRequired[Time]
    ready: int
    open: int
    workers: List[JobListItemWorker]


class JobList(TypedDict):
    items: List[JobListItem]


class Job(TypedDict):
    job: Literal['settle', 'expire', 'deliver']
    paused: bool
    reason: NotRequired[str]
    by: NotRequired[str]
    since: NotRequired[Time]


class BuriedPageItem(TypedDict):
    error: Optional[str]
    orders: int
    oldest: Time


class BuriedPage(TypedDict):
    items: List[BuriedPageItem]
    other: int
    counted: int
    next_cursor: NextCursor


class Kicked(TypedDict):
    kicked: int
    more: bool
    cursor: NotRequired[str]


class KeyAnswer(TypedDict):
    name: NotRequired[str]
    roles: List[Literal['order', 'worker', 'read', 'admin']]
    service: str
    instance: Instance


class Stats(TypedDict):
    skus: int
    locations: int
    slots: int
    slot_rows: int
    available: int
    reserved: int
    aside: int
    on_hand: int
    incoming: int
    incoming_reserved: int
    held: int
    held_claimed: int
    confirmed: int
    confirmed_claimed: int
    settled: int
    released: int
    expired: int
    buried: int
    oldest_expired_ms: int
    oldest_confirmed_ms: int
    ready: int
    ready_to_expire: int
    tasks_open: int
    oldest_lease_ms: int
    event_rows: int
    event_bytes: int
    oldest_event_ms: int
    orders_ahead: int
    leases_ahead: int
    arrivals_ahead: int
    webhooks_ahead: int
    waiting_ahead: int
    counts_ahead: int
    counted_at: Time


class ActivitySeries(TypedDict):
    answered: Seconds
    granted: Seconds
    busy: Seconds
    batches: Seconds
    settled: Seconds
    delivered: Seconds
    queue: Seconds
    p50_ms: Seconds
    p99_ms: Seconds
    oldest_due_s: Seconds
    buried: Seconds
    tasks: Seconds
    undelivered: Seconds
    refused: Dict[str, Seconds]


class Activity(TypedDict):
    now: Time
    instance: Instance
    step_s: Literal[1]
    since: Time
    series: ActivitySeries


class Problem(TypedDict):
    """RFC 9457, with a stable `code`."""

    type: str
    title: str
    status: int
    detail: str
    code: Code
    field: NotRequired[str]
    lines: NotRequired[List[Dict[str, Any]]]


LocationAsked = Location
BackorderedTo = Location
MovementRequest = Union[
    ReceiptRequest, ReturnRequest, AdjustmentRequest, CountRequest, TransferRequest, ArrivalRequest
]
Barcodes = List[Barcode]
Locations = List[Location]
AvailabilityRequest = Union[AvailabilityRequest1, AvailabilityRequest2]
TtlAsked = Ttl
OrderIds = List[Id]
StoppedUnits = Total
StopReason = Text
CountedAt = Time
Availability = Union[AvailabilityOfSkus, AvailabilityOfBaskets]
SaleEvent = Union[SaleEvent1, SaleEvent2]
Event = Union[ReservationEvent, MovementEvent, LevelEvent, StockEvent, SaleEvent]
